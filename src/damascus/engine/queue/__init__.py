"""What a story does in the merge queue; the rules are domain/merge_queue.py."""
