"""What the other folders stand on: files, arrays, random draws, device, memory, progress. Not a public interface."""
