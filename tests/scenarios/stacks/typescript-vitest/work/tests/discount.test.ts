import { describe, expect, test } from 'vitest';
import { afterDiscount, percent } from '../src/discount';

describe('discount', () => {
  test.each([[9_999, 0], [10_000, 10]])('REQ-001: %i cents get %i per cent', (cents, asked) => {
    expect(percent(cents)).toBe(asked);
  });

  test('REQ-002: it is taken off', () => {
    expect(afterDiscount(20_000)).toBe(18_000);
    expect(afterDiscount(5_000)).toBe(5_000);
  });
});
