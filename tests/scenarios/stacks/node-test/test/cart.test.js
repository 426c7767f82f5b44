const assert = require('node:assert/strict');
const test = require('node:test');
const { total } = require('../src/cart');

test('total', () => {
  assert.equal(total([3, 4]), 7);
});
