// Package laxity is the root of the product's module. The binary is in cmd/laxity, the library for applications in sdk.
package laxity
