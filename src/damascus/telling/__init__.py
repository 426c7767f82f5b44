"""Facts of the store in plain sentences: what a story does now, what it waits for, what it cost.

For whoever shows them: width, colour and layout are the caller's.
"""
