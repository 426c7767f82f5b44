import assert from "node:assert";
import { test } from "node:test";

import { shopName } from "./index.js";

test("it has a name", () => assert.equal(shopName, "Corner shop"));
