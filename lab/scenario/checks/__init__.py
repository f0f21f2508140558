"""Kinds of checks: each module runs one kind in a booted guest, writes its rows as they happen, and says what is wrong."""
