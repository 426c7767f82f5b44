import unittest

import shop


class Shop(unittest.TestCase):
    def test_it_has_a_name(self):
        self.assertEqual(shop.NAME, "Corner shop")
