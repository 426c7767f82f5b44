"""A small shop: prices, stock and orders."""

NAME = "Corner shop"
