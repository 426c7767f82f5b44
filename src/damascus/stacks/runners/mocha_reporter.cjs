'use strict';
// mocha has one reporter: its own `spec` prints, and at the end each result is a line of ours.
const fs = require('fs');
const path = require('path');
const file = process.env.RUNNER_FILE;
delete process.env.RUNNER_FILE;
const spec = path.join(path.dirname(fs.realpathSync(process.argv[1])), '..', 'lib', 'reporters', 'spec.js');
const Spec = require(fs.existsSync(spec) ? spec : require.resolve('mocha/lib/reporters/spec', { paths: [process.cwd()] }));

module.exports = class extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const lines = [];
    const add = (test, status, error) => lines.push({
      test: test.titlePath().join(' > '), file: test.file || (test.parent && test.parent.file) || '', status,
      message: error ? String(error.message || error).slice(0, 300) : '',
    });
    runner.on('pass', (test) => add(test, 'passed'));
    runner.on('pending', (test) => add(test, 'skipped'));
    runner.on('fail', (test, error) => add(test, 'failed', error));
    runner.once('end', () => {
      lines.push({ end: runner.failures ? 1 : 0 });
      if (file) fs.appendFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n') + '\n');
    });
  }
};
