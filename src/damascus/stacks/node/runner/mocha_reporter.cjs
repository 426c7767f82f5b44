'use strict';
// mocha has one reporter: its own `spec` prints, and at the end each result is a line of ours. A file that can't be
// loaded ends mocha before any reporter is made, so loading is watched too.
const fs = require('fs');
const path = require('path');
const file = process.env.RUNNER_FILE;
delete process.env.RUNNER_FILE;

const bin = path.dirname(fs.realpathSync(process.argv[1]));
const places = [path.join(bin, '..', 'lib'), path.join(bin, '..')];
const lib = places.find((place) => fs.existsSync(path.join(place, 'reporters', 'spec.js')))
  || path.join(path.dirname(require.resolve('mocha/package.json', { paths: [process.cwd()] })), 'lib');
const Mocha = require(path.join(lib, fs.existsSync(path.join(lib, 'mocha.cjs')) ? 'mocha.cjs' : 'mocha.js'));

const UNLOADED = 'Uncaught error outside test suite'; // of a file, where several are run side by side
const write = (lines) => file && fs.appendFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n') + '\n');
const told = (error) => (error ? String(error.message || error).slice(0, 300) : '');

// The last file that was begun is the one that failed.
function watch(mocha, error) {
  const at = mocha.loading || (mocha.files || [])[0] || '';
  write([{ test: at, file: at, status: 'error', message: told(error) }, { end: 1 }]);
  throw error;
}

const { prototype } = Mocha;
const { loadFiles, loadFilesAsync } = prototype;
const noted = (mocha) => mocha.suite.on('pre-require', (_, at) => { mocha.loading = at; });
prototype.loadFiles = function (...args) {
  noted(this);
  try { return loadFiles.apply(this, args); } catch (error) { return watch(this, error); }
};
if (loadFilesAsync) {
  prototype.loadFilesAsync = function (...args) {
    noted(this);
    return loadFilesAsync.apply(this, args).catch((error) => watch(this, error));
  };
}

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const lines = [];
    const add = (test, status, error) => lines.push({
      test: test.titlePath().join(' > '), file: test.file || (test.parent && test.parent.file) || '', status, message: told(error),
    });
    runner.on('pass', (test) => add(test, 'passed'));
    runner.on('pending', (test) => add(test, 'skipped'));
    runner.on('fail', (test, error) => {
      if (test.file && test.title === UNLOADED) lines.push({ test: test.file, file: test.file, status: 'error', message: told(error) });
      else add(test, 'failed', error);
      // Tests that a hook kept from running fail with it.
      const suite = test.type === 'hook' && /^"before/.test(test.title) ? test.parent : null;
      if (suite && suite.eachTest) suite.eachTest((one) => { if (!one.state && !one.isPending()) add(one, 'failed', error); });
    });
    runner.once('end', () => write([...lines, { end: runner.failures ? 1 : 0 }]));
  }
};
