'use strict';
// Loaded into every node process of a Test Command. A known runner gets a reporter of ours beside its usual one; the runner's
// process writes it, not those of the tests. The folder's name is taken out of the environment where tests start.
const fs = require('fs');
const path = require('path');
const crypto = require('crypto');

const FOLDER = 'RUNNER_REPORTS';
const folder = process.env[FOLDER];
const LINES = 'RUNNER_LINES';
const lines = process.env[LINES];
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
  delete env[LINES];
  unwatched();
  const done = require('child_process').spawnSync(process.execPath, [...own, ...more, ...words], { stdio: 'inherit', env });
  const code = done.status === null ? 1 : done.status;
  fs.appendFileSync(file, JSON.stringify({ end: code }) + '\n');
  process.exit(code);
}

// This process need not tell what it ran; its children still do.
function unwatched() {
  if (process.env.NODE_V8_COVERAGE) require('v8').stopCoverage();
}

// Runners that transform what they run tell lines by a report of their own: where it goes, or why there is none.
function report(why) {
  unwatched();
  delete process.env.NODE_V8_COVERAGE;
  const place = path.join(lines, 'node', crypto.randomUUID());
  if (why) fs.writeFileSync(`${place}.why`, why);
  else fs.writeFileSync(`${place}.cwd`, process.cwd());
  return place;
}

const SOURCES = '**/*.{js,jsx,ts,tsx,mjs,cjs,mts,cts,vue,svelte}';

function jestLines() {
  return ['--coverage', '--coverageProvider=babel', '--coverageReporters=lcovonly', `--coverageDirectory=${report()}`, '--coverageThreshold={}',
    '--coveragePathIgnorePatterns=/node_modules/', `--collectCoverageFrom=${SOURCES}`, '--collectCoverageFrom=!**/node_modules/**'];
}

function vitestLines() {
  const has = (name) => { try { return require.resolve(`@vitest/coverage-${name}/package.json`, { paths: [process.cwd()] }); } catch { return ''; } };
  const provider = ['v8', 'istanbul'].find(has);
  if (!provider) {
    report('vitest tells no lines without @vitest/coverage-v8 among the packages of the project');
    return [];
  }
  const off = ['lines', 'functions', 'branches', 'statements'].map((kind) => `--coverage.thresholds.${kind}=0`);
  return ['--coverage.enabled=true', `--coverage.provider=${provider}`, '--coverage.reporter=lcovonly', `--coverage.reportsDirectory=${report()}`,
    '--coverage.reportOnFailure=true', `--coverage.include=${SOURCES}`, '--coverage.exclude=**/node_modules/**', ...off];
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
  if (/\/(npm|npx|yarn|pnpm|corepack)(-cli)?(\.c?js)?$/.test(script)) return unwatched();
  if (/\/(jest|jest-cli)\/bin\/jest(\.js)?$/.test(script)) {
    process.env.RUNNER_FILE = begin('jest', words);
    addWords(['--reporters=default', `--reporters=${path.join(__dirname, 'jest_reporter.cjs')}`, ...(lines ? jestLines() : [])]);
  } else if (/\/vitest\/vitest\.mjs$/.test(script) && !words.includes('list')) {
    process.env.RUNNER_FILE = begin('vitest', words);
    addWords(['--reporter=default', `--reporter=${path.join(__dirname, 'vitest_reporter.mjs')}`, ...(lines ? vitestLines() : [])]);
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
  delete process.env[LINES];
  return undefined;
}

const inside = process.env.NODE_TEST_CONTEXT || process.env.NODE_RUNNER_READ;
if (folder && !inside && require('worker_threads').isMainThread) start();
