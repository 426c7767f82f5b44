// vitest's results as our lines, written by vitest's own process when all are in. Its JSON reporter won't do: where it
// writes is the project's setting before it is ours.
import fs from 'node:fs';

const file = process.env.RUNNER_FILE;
delete process.env.RUNNER_FILE;
const STATES = { pass: 'passed', fail: 'failed' };
const told = (errors) => (errors || []).map((one) => String((one && (one.stack || one.message)) || one)).join('\n').slice(0, 300);

// A hook of a suite that fails keeps tests from running, or comes behind them: the whole file counts as red.
function* lines(task, at, titles) {
  const result = task.result || {};
  if (task.type !== 'suite') {
    yield { test: titles.join(' > '), file: at, status: STATES[result.state] || 'skipped', message: told(result.errors) };
    return;
  }
  if (result.errors && result.errors.length) yield { test: at, file: at, status: 'error', message: told(result.errors) };
  for (const one of task.tasks || []) yield* lines(one, at, [...titles, one.name]);
}

export default class {
  // Up to vitest 3; from 3 on it is onTestRunEnd.
  onFinished(files = [], errors = []) {
    if (!this.written) this.write(files, errors);
  }

  onTestRunEnd(modules, errors) {
    this.write(modules.map((one) => one.task), errors);
  }

  write(files, errors) {
    this.written = true;
    const found = files.flatMap((one) => [...lines(one, one.filepath, [])]);
    for (const error of errors) {
      const at = error && error.VITEST_TEST_PATH;
      if (at) found.push({ test: at, file: at, status: 'error', message: told([error]) });
    }
    found.push({ end: errors.length || found.some((one) => one.status === 'failed' || one.status === 'error') ? 1 : 0 });
    if (file) fs.appendFileSync(file, found.map((one) => JSON.stringify(one)).join('\n') + '\n');
  }
}
