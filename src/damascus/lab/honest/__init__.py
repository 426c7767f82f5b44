"""Honest agents, the control: each does something that a lying one does too, and its work may land."""

from damascus.lab.honest import about_old_tests, plain, shapes
from damascus.lab.lies import about_the_project, in_go, in_node, in_other_stacks, in_rust

TALES = (
    *about_old_tests.TALES,
    *plain.TALES,
    *shapes.SHAPES,
    *in_other_stacks.HONEST,
    *about_the_project.HONEST,
    *in_go.HONEST,
    *in_node.HONEST,
    *in_rust.HONEST,
)
