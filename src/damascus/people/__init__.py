"""What a person can do and ask, whoever brings the words: the command line today, a web page or another program later.

An act is given plain values (the app or the database, the project, ids, words, and who acts) and answers with a
record: what was done in words, what to do next, and the facts. It prints nothing and reads no terminal.
"""
