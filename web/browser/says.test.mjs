// The measure of the other tests: a figure that is off by its last digit is found.

import assert from "node:assert/strict";
import test from "node:test";
import { says } from "./support/says.mjs";

test("a figure says its value to the last digit, and no other value", () => {
  assert.ok(says("532 µs", 532_479));
  assert.ok(!says("533 µs", 532_479));
  assert.ok(says("1.68 ms", 1_679_359));
  assert.ok(!says("1.67 ms", 1_679_359));
  assert.ok(says("48,300", 48_300.4));
  assert.ok(!says("48,300", 48_301));
  assert.ok(says("0.25 %", 0.0025));
  assert.ok(says("1.52", 1_520_000, "ms"));
});

test("more than the timeout and no figure are told apart from figures", () => {
  assert.ok(says(">5 s", { beyond: 5e9 }));
  assert.ok(!says("5 s", { beyond: 5e9 }));
  assert.ok(!says(">5 s", 5e9));
  assert.ok(says("-", null));
  assert.ok(!says("0", null));
  assert.ok(!says("-", 0));
});

test("a share that is almost none or almost all is told apart from none and all", () => {
  assert.ok(says("<0.01 %", 0.000_02));
  assert.ok(!says("<0.01 %", 0));
  assert.ok(!says("<0.01 %", 0.000_2));
  assert.ok(says(">99.99 %", 0.999_98));
  assert.ok(!says(">99.99 %", 1));
});
