// Node 18 has no "deflate-raw" in DecompressionStream, which browsers have: there zlib takes its place.

import { Duplex } from "node:stream";
import { createInflateRaw } from "node:zlib";

class InflateStream {
  constructor() {
    return Duplex.toWeb(createInflateRaw());
  }
}

try {
  new DecompressionStream("deflate-raw");
} catch {
  Object.assign(globalThis, { DecompressionStream: InflateStream });
}
