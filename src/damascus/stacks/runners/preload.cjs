'use strict';
// Loaded into every node process of a Test Command. A known runner gets a reporter of ours beside its usual one; the runner's
// process writes it, not those of the tests. The folder's name is taken out of the environment where tests start.
const fs = require('fs');
const path = require('path');
const crypto = require('crypto');

const FOLDER = 'RUNNER_REPORTS';
const folder = process.env[FOLDER];
const ARGS = process.argv;

function begin(runner, words) {
  const file = path.join(folder, `${runner}-${crypto.randomUUID()}.jsonl`);
  const below = path.relative(process.env.RUNNER_ROOT || '/', process.cwd()) || '.';
  fs.writeFileSync(file, JSON.stringify({ runner, words, folder: below, root: process.env.RUNNER_ROOT || '' }) + '\n', { mode: 0o600 });
  return file;
}

function addWords(words) {
  const end = ARGS.indexOf('--', 2);
  ARGS.splice(end < 0 ? ARGS.length : end, 0, ...words);
}

// mocha takes one reporter and no more.
function takeReporter() {
  for (let at = ARGS.length - 1; at > 1; at--) {
    if (/^(-R|--reporter)$/.test(ARGS[at])) ARGS.splice(at, 2);
    else if (/^(-R=?|--reporter=)./.test(ARGS[at])) ARGS.splice(at, 1);
  }
}

function program() {
  try { return fs.realpathSync(ARGS[1]).split(path.sep).join('/'); } catch { return ''; }
}

// node's own runner reads its options before any preload is run: it is started again, with a reporter more.
function again(words, script) {
  const file = begin('node', script);
  const own = process.execArgv;
  const count = (flag) => own.filter((word) => word === flag || word.startsWith(`${flag}=`)).length;
  const reporters = count('--test-reporter');
  const more = [];
  if (reporters === 0) {
    const plain = process.stdout.isTTY || parseInt(process.versions.node, 10) >= 23 ? 'spec' : 'tap';
    more.push(`--test-reporter=${plain}`, '--test-reporter-destination=stdout');
  } else if (count('--test-reporter-destination') < reporters) {
    more.push('--test-reporter-destination=stdout');
  }
  more.push(`--test-reporter=${path.join(__dirname, 'node_reporter.cjs')}`, `--test-reporter-destination=${file}.tests`);
  const env = { ...process.env, NODE_RUNNER_READ: '1' };
  delete env[FOLDER];
  const done = require('child_process').spawnSync(process.execPath, [...own, ...more, ...words], { stdio: 'inherit', env });
  const code = done.status === null ? 1 : done.status;
  fs.appendFileSync(file, JSON.stringify({ end: code }) + '\n');
  process.exit(code);
}

function usesNodeTest(script) {
  try {
    if (fs.statSync(script).size > 1000000) return false;
    return /['"`]node:test['"`]/.test(fs.readFileSync(script, 'utf8'));
  } catch { return false; }
}

function start() {
  const flags = process.execArgv;
  if (flags.some((word) => /^(-e|--eval|-p|--print|-c|--check|-i|--interactive|--watch)\b/.test(word))) return;
  if (flags.includes('--test')) return again(ARGS.slice(1), ARGS.slice(1));
  if (!ARGS[1]) return;
  const script = program();
  const words = ARGS.slice(2);
  if (/\/(jest|jest-cli)\/bin\/jest(\.js)?$/.test(script)) {
    process.env.RUNNER_FILE = begin('jest', words);
    addWords(['--reporters=default', `--reporters=${path.join(__dirname, 'jest_reporter.cjs')}`]);
  } else if (/\/vitest\/vitest\.mjs$/.test(script) && !words.includes('list')) {
    process.env.RUNNER_FILE = begin('vitest', words);
    addWords(['--reporter=default', `--reporter=${path.join(__dirname, 'vitest_reporter.mjs')}`]);
  } else if (/\/mocha\/bin\/_?mocha(\.[cm]?js)?$/.test(script)) {
    process.env.RUNNER_FILE = begin('mocha', words);
    takeReporter();
    addWords(['--reporter', path.join(__dirname, 'mocha_reporter.cjs')]);
  } else if (usesNodeTest(ARGS[1])) {
    return again(ARGS.slice(1), [...flags, ...ARGS.slice(1)]);
  } else {
    return undefined;
  }
  delete process.env[FOLDER];
  return undefined;
}

const inside = process.env.NODE_TEST_CONTEXT || process.env.NODE_RUNNER_READ;
if (folder && !inside && require('worker_threads').isMainThread) start();
