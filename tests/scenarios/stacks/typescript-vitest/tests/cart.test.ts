import { expect, test } from 'vitest';
import { total } from '../src/cart';

test('total', () => {
  expect(total([3, 4])).toBe(7);
});
