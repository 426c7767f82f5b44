const { afterDiscount, percent } = require('../src/discount');

describe('discount', () => {
  test('REQ-001: large orders get ten per cent', () => {
    expect(percent(9_999)).toBe(0);
    expect(percent(10_000)).toBe(10);
  });

  test('REQ-002: it is taken off', () => {
    expect(afterDiscount(20_000)).toBe(18_000);
    expect(afterDiscount(5_000)).toBe(5_000);
  });
});
