/** The reader's choices in the address of the page. */
import { describe, expect, test } from "vitest";
import { choicesOf, fragmentOf, type Choices } from "../src/parts/link";

describe("an address", () => {
  test("says each choice, and is read back as it was", () => {
    const choices: Choices = {
      zoom: { from_ns: 1_500_000_001, to_ns: 18e9 },
      latency: "boxes",
      scale: "linear",
      time: "utc",
      theme: "dark",
      run: "build #7 & <8>",
      watched: "udp drops",
      table: "types",
    };
    expect(choicesOf(`#${fragmentOf(choices)}`)).toEqual(choices);
    expect(fragmentOf({ zoom: choices.zoom, scale: "linear" })).toBe("zoom=1.500000001-18&scale=linear");
    expect(fragmentOf({})).toBe("");
  });

  test("that says it wrongly chooses nothing, and the rest of it holds", () => {
    const wrong = ["zoom=", "zoom=5-5", "zoom=9-3", "zoom=-1-3", "zoom=1e3-2e3", "zoom=a-b", "zoom=NaN-NaN", "zoom=1-99999999999"];
    for (const fragment of [...wrong, "", "#", "content", "scale=log10", "theme=<script>", "latency", "=", "&&&", "%E0%A4%A"]) {
      expect(choicesOf(fragment), fragment).toEqual({});
    }
    expect(choicesOf("#zoom=x&scale=linear&unknown=1&time=utc")).toEqual({ scale: "linear", time: "utc" });
  });
});
