import { expect, it } from "vitest";
import { shortID } from "./ids.ts";

it.each([
  ["4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f35"],
  ["00000000000000004bf92f3577b34da6", "4bf92f35"],
  ["0000000000000000000000000000000a", "00000000"],
])("TestIssueShortIDOf64Bits: %s is shown as %s", (id, shown) => expect(shortID(id)).toBe(shown));
