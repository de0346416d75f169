//go:build !linux

package main

// yield does nothing where priorities of threads are another matter.
func yield(int) error { return nil }
