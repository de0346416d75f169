import { expect, it } from "vitest";
import { nearest } from "./near.ts";

const known = [{ service: "mail", route: "/zebra" }, { service: "shop", route: "/orders" }, { service: "desk", route: "/ordres" }, { service: "shop", route: "/pay" }];

it("offers the same name elsewhere, then the same service, then what begins alike", () => {
  expect(nearest({ service: "shop", route: "/ordres" }, known).map(({ service, route }) => service + route)).toEqual(["desk/ordres", "shop/orders", "shop/pay", "mail/zebra"]);
  expect(nearest({ service: "shop", route: "/pay" }, known)).not.toContainEqual({ service: "shop", route: "/pay" });
});
