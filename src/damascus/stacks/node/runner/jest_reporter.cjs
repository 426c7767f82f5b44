'use strict';
// jest's results as our lines, written by jest's own process when all are in.
const fs = require('fs');
const file = process.env.RUNNER_FILE;
delete process.env.RUNNER_FILE;
const STATES = { passed: 'passed', failed: 'failed', pending: 'skipped', skipped: 'skipped', todo: 'skipped', disabled: 'skipped' };

module.exports = class {
  onRunComplete(_, results) {
    const lines = [];
    for (const suite of results.testResults) {
      const at = suite.testFilePath;
      if (suite.testExecError || (suite.failureMessage && !suite.testResults.length)) {
        lines.push({ test: at, file: at, status: 'error', message: String(suite.failureMessage || '').slice(0, 300) });
      }
      for (const test of suite.testResults) {
        const message = (test.failureMessages || []).join('\n').slice(0, 300);
        lines.push({ test: [...test.ancestorTitles, test.title].join(' > '), file: at, status: STATES[test.status] || 'error', message });
      }
    }
    lines.push({ end: results.success ? 0 : 1 });
    if (file) fs.appendFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n') + '\n');
  }
};
