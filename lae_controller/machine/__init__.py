"""What this machine has: cores, memory, accelerators, and their limits."""
