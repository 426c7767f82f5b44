import unittest

from prices import with_tax


class HeldOut(unittest.TestCase):
    def test_REQ_001_whole_cents(self):
        self.assertEqual(with_tax(2000, 19), 2380)

    def test_REQ_002_rounds_up_and_down(self):
        self.assertEqual(with_tax(99, 19), 118)
        self.assertEqual(with_tax(101, 7), 108)
