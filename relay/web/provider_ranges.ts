/** Address ranges that the providers have published, embedded here so that none is fetched. */

import { type IpRange, mustParseRange } from "./ip_address.ts";

/** The addresses of the cloud load balancer's front ends (contract 9). */
export const LOAD_BALANCER: readonly IpRange[] = [
  "35.191.0.0/16",
  "130.211.0.0/22",
  "2600:2d00:1:b029::/64",
  "2600:2d00:1:1::/64",
].map(mustParseRange);

/** The addresses of the CDN that may be in front of the load balancer. */
export const CDN: readonly IpRange[] = [
  "173.245.48.0/20",
  "103.21.244.0/22",
  "103.22.200.0/22",
  "103.31.4.0/22",
  "141.101.64.0/18",
  "108.162.192.0/18",
  "190.93.240.0/20",
  "188.114.96.0/20",
  "197.234.240.0/22",
  "198.41.128.0/17",
  "162.158.0.0/15",
  "104.16.0.0/13",
  "104.24.0.0/14",
  "172.64.0.0/13",
  "131.0.72.0/22",
  "2400:cb00::/32",
  "2606:4700::/32",
  "2803:f800::/32",
  "2405:b500::/32",
  "2405:8100::/32",
  "2a06:98c0::/29",
  "2c0f:f248::/32",
].map(mustParseRange);
