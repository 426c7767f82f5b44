const assert = require('node:assert/strict');
const { describe, it } = require('node:test');
const { afterDiscount, percent } = require('../src/discount');

describe('discount', () => {
  it('REQ-001: large orders get ten per cent', () => {
    assert.equal(percent(9_999), 0);
    assert.equal(percent(10_000), 10);
  });

  it('REQ-002: it is taken off', () => {
    assert.equal(afterDiscount(20_000), 18_000);
    assert.equal(afterDiscount(5_000), 5_000);
  });
});
