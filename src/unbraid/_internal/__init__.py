"""Files, arrays, random draws, device, memory and progress. Not a public interface."""
