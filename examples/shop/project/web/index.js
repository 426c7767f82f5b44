export const shopName = "Corner shop";
