function percent(cents) {
  if (cents >= 10_000) {
    return 10;
  }
  return 0;
}

function afterDiscount(cents) {
  return cents - Math.floor((cents * percent(cents)) / 100);
}

module.exports = { percent, afterDiscount };
