def greet(name):
    return "Hi"
