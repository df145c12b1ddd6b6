/** What is drawn on a canvas, as SVG. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pictureOf } from "../src/charts/picture";
import { isRecorded, pathFor, recorded } from "../src/charts/recorder";
import { palette } from "../src/charts/theme";

/** A context that draws nothing, and has the styles that are set. */
function context(): CanvasRenderingContext2D {
  const nothing = ["save", "restore", "beginPath", "moveTo", "lineTo", "rect", "arc", "closePath", "clip"];
  const drawn = ["fill", "stroke", "fillRect", "fillText"];
  const methods = Object.fromEntries([...nothing, ...drawn].map((name) => [name, vi.fn()]));
  const own = {
    ...{ fillStyle: "#000000", strokeStyle: "#000000", lineWidth: 1, lineJoin: "miter", globalAlpha: 1 },
    ...{ font: "12px sans-serif", textAlign: "left", textBaseline: "alphabetic" },
    getLineDash: () => [],
    getTransform: () => ({ e: 0, f: 0 }),
  };
  // As in a browser, where methods are not the context's own.
  return Object.assign(Object.create(methods), own) as CanvasRenderingContext2D;
}

beforeEach(() => {
  vi.stubGlobal("document", { createElement: () => ({ getContext: () => null }) });
  vi.stubGlobal("Path2D", class {
    moveTo(): void {}
    lineTo(): void {}
    rect(): void {}
    closePath(): void {}
  });
});
afterEach(() => vi.unstubAllGlobals());

describe("a recorded context", () => {
  test("still draws, and writes down shapes and texts with their styles", () => {
    const ctx = context();
    const { fillRect } = ctx;
    const svg = recorded(ctx, () => {
      expect(isRecorded(ctx)).toBe(true);
      ctx.fillStyle = "rgba(0, 114, 178, 0.5)";
      ctx.fillRect(1, 2, 30.123, 4);
      Object.assign(ctx, { globalAlpha: 0.5, strokeStyle: "#d55e00", lineWidth: 2, getLineDash: () => [6, 3] });
      const path = pathFor(ctx);
      path.moveTo(0, 0);
      path.lineTo(10, 5.005);
      path.closePath();
      ctx.stroke(path);
      Object.assign(ctx, { globalAlpha: 1, fillStyle: "#1b1f24", textAlign: "right", textBaseline: "middle" });
      ctx.fillText("p99<5ms & \u0000", 7, 8);
    });
    expect(fillRect).toHaveBeenCalledWith(1, 2, 30.123, 4);
    expect(svg.split("\n")).toEqual([
      '<path d="M1 2h30.12v4h-30.12Z" fill="rgb(0, 114, 178)" fill-opacity="0.5"/>',
      '<path d="M0 0L10 5Z" fill="none" stroke="#d55e00" stroke-opacity="0.5" stroke-width="2" stroke-dasharray="6 3"/>',
      '<text x="7" y="8" dy=".35em" font-size="12" text-anchor="end" fill="#1b1f24">p99&lt;5ms &amp; \ufffd</text>',
    ]);
  });

  test("is as before after it, also where drawing fails", () => {
    const ctx = context();
    const before = Object.keys(ctx);
    const { fillRect } = ctx;
    expect(() =>
      recorded(ctx, () => {
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(isRecorded(ctx)).toBe(false);
    expect(Object.keys(ctx)).toEqual(before);
    expect(ctx.fillRect).toBe(fillRect);
  });

  test("cuts off what is drawn after clip, until it is restored", () => {
    const ctx = context();
    const svg = recorded(ctx, () => {
      ctx.save();
      ctx.beginPath();
      ctx.rect(0, 0, 10, 10);
      ctx.clip();
      ctx.fillRect(0, 0, 99, 99);
      ctx.restore();
      ctx.fillRect(5, 5, 1, 1);
    });
    const [clip, inside, , after] = svg.split("\n");
    expect(clip).toBe('<clipPath id="clip1"><path d="M0 0h10v10h-10Z"/></clipPath><g clip-path="url(#clip1)">');
    expect(inside).toContain("h99");
    expect(svg.indexOf("</g>")).toBeLessThan(svg.indexOf(after!));
  });
});

test("a picture has its title, and the key of what the drawing does not name", () => {
  const svg = pictureOf({
    title: "Rate <b>",
    unit: "queries/s",
    width: 300,
    height: 100,
    ratio: 2,
    drawing: "<g/>",
    key: [
      { label: "sent & asked", colour: "#112233", dash: [1, 3] },
      { label: "answered", colour: "#445566", area: true },
    ],
    scale: null,
    colours: palette("light"),
  });
  expect(svg).toContain(">Rate &lt;b&gt;<");
  expect(svg).toContain('stroke-dasharray="1 3"');
  expect(svg).toContain(">sent &amp; asked<");
  expect(svg).toContain("scale(0.5)");
  expect(svg).not.toContain("<b>");
});
