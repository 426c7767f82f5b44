export function percent(cents: number): number {
  if (cents >= 10_000) {
    return 10;
  }
  return 0;
}

export function afterDiscount(cents: number): number {
  return cents - Math.floor((cents * percent(cents)) / 100);
}
