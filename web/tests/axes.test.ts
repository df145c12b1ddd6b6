import { describe, expect, it } from "vitest";
import { spread } from "../src/charts/labels";
import { bytesTick, ceiling, figureTick, linearTicks, logTicks, timeTicks } from "../src/charts/ticks";
import { palette, readable } from "../src/charts/theme";
import { instant } from "../src/format/instants";

const SECOND = 1e9;
const texts = (from: number, to: number, labels: "elapsed" | "utc", started = "0") =>
  timeTicks(from * SECOND, to * SECOND, 5, labels, started).map(({ text }) => text);

describe("ticks of the time", () => {
  it("are round, and written as they are spoken of", () => {
    expect(texts(0, 40, "elapsed")).toEqual(["0", "10 s", "20 s", "30 s", "40 s"]);
    expect(texts(0, 2, "elapsed")).toEqual(["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
    expect(texts(0, 150, "elapsed")).toEqual(["0", "0:30", "1:00", "1:30", "2:00", "2:30"]);
    expect(texts(0, 480, "elapsed")).toEqual(["0", "2 min", "4 min", "6 min", "8 min"]);
    expect(texts(125, 205, "elapsed")).toEqual(["2:15", "2:30", "2:45", "3:00", "3:15"]);
    expect(texts(5400, 9900, "elapsed")).toEqual(["1 h 30", "1 h 45", "2 h 00", "2 h 15", "2 h 30", "2 h 45"]);
    expect(texts(0, 172_800, "elapsed")).toEqual(["0", "12 h", "24 h", "36 h", "48 h"]);
  });

  it("are those of the clock in UTC, wherever the run began", () => {
    const started = "1795355412500000000"; // 2026-11-22 13:50:12.5 UTC
    expect(texts(0, 40, "utc", started)).toEqual(["13:50:20", "13:50:30", "13:50:40", "13:50:50"]);
    expect(texts(0, 480, "utc", started)).toEqual(["13:52", "13:54", "13:56", "13:58"]);
    expect(instant(0.25 * SECOND, 1e8, "utc", started)).toBe("13:50:12.7");
    expect(instant(0, SECOND, "utc", "not a number")).toBe("00:00:00");
  });
});

describe("ticks of figures", () => {
  it("are 1, 2 or 5 times a power of ten", () => {
    expect(linearTicks(0, 25_600, 6)).toEqual([0, 5000, 10_000, 15_000, 20_000, 25_000]);
    expect(linearTicks(0, 1, 2)).toEqual([0, 0.5, 1]);
    expect(logTicks(1e5, 1e8, 10)).toEqual([1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8]);
    expect(logTicks(2e4, 2e5, 3)).toEqual([2e4, 5e4, 1e5, 2e5]);
    expect(logTicks(1e3, 1e9, 3).length).toBeLessThanOrEqual(4);
  });

  it("are two at least, also on a low chart", () => {
    for (let high = 1; high < 10; high += 0.25) {
      const ticks = linearTicks(0, high, 2);
      expect([high, ticks.length > 1 && ticks.length <= 4]).toEqual([high, true]);
    }
  });

  it("end above the largest figure", () => {
    for (const largest of [1, 7, 99, 25_000, 0.003]) {
      expect(ceiling(largest)).toBeGreaterThan(largest);
      expect(ceiling(largest)).toBeLessThan(largest * 1.3);
    }
    expect(ceiling(0)).toBe(1);
  });

  it("have room beside an axis, and the same unit on one of them", () => {
    expect([50_000, 0.5, 25e6].map((value) => figureTick(value))).toEqual(["50,000", "0.5", "25 M"]);
    expect(linearTicks(0, 1.6e6, 4).map((at) => figureTick(at, 1.6e6))).toEqual(["0", "0.5 M", "1 M", "1.5 M"]);
    for (const tick of [figureTick, bytesTick]) {
      for (let value = 1; value < 1e15; value *= 2.5) expect(tick(Math.round(value)).length).toBeLessThanOrEqual(7);
    }
  });
});

describe("labels at the ends of lines", () => {
  it("do not overlap, stay inside and keep their order", () => {
    expect(spread([50, 51, 90], 15, 0, 100)).toEqual([50, 65, 90]);
    expect(spread([95, 96, 97], 15, 0, 100)).toEqual([70, 85, 100]);
    expect(spread([10, 5], 15, 0, 100)).toEqual([20, 5]);
  });

  it("can be read on the paper of both themes", () => {
    expect(readable("#0072B2", palette("light"))).toBe("rgb(0 114 178)");
    expect(readable("#E69F00", palette("light"))).not.toBe("rgb(230 159 0)");
    expect(readable("#E69F00", palette("dark"))).toBe("rgb(230 159 0)");
  });
});
