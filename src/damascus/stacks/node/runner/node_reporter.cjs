'use strict';
// node:test's events as our lines. A suite is told only where it failed by itself; a file that could not be run is its name.
module.exports = async function* (events) {
  let above = [];
  let failedBelow = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      above = [...above.slice(0, data.nesting), data.name];
      failedBelow[data.nesting + 1] = false;
    } else if (type === 'test:pass' || type === 'test:fail') {
      const details = data.details || {};
      const skipped = data.skip !== undefined || data.todo !== undefined;
      const status = skipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
      const suite = details.type === 'suite';
      if (status === 'failed') failedBelow[data.nesting] = true;
      const own = !suite || (status === 'failed' && !failedBelow[data.nesting + 1]) || status === 'skipped';
      failedBelow[data.nesting + 1] = false;
      const cause = details.error && (details.error.cause || details.error);
      const message = status === 'failed' ? String((cause && cause.message) || cause || '').slice(0, 300) : '';
      const titles = [...above.slice(0, data.nesting), data.name];
      if (own) yield JSON.stringify({ test: titles.join(' > '), file: data.file || '', status, message }) + '\n';
    }
  }
};
