"""llama.cpp's own programs: a small model for them, their command lines, and what they say.

Nothing here knows of guests or scenarios: command lines are made and output is read, whoever runs them wherever.
"""
