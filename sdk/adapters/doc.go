// Package adapters is the module that holds what connects the sdk to brokers, drivers and stores, so that the sdk itself
// stays free of their dependencies.
package adapters
