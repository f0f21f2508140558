"""The guest from outside: its serial console, its keys, and one SSH connection. Knows of machines only what it is handed."""
