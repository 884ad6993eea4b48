"""Private helpers: files, arrays, random numbers, devices, memory and progress."""
