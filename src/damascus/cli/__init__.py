"""The command line: arguments, help and printing. What a person can do is in people/."""
