const { total } = require('../src/cart');

test('total', () => {
  expect(total([3, 4])).toBe(7);
});
