// Package listen finds free ports for parts that are started later.
package listen

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Free ports are taken from here: below what systems give to outgoing connections and to listeners on port 0, so that nothing
// takes a port in the time between its choice and the start of the part that listens on it.
const (
	firstFreePort = 15000
	lastFreePort  = 32000
)

// FreePorts replaces the port 0 of each address, keyed by its flag, by a free port, and reports addresses that cannot be listened
// on. All are held until the last is found, so that no two are the same.
func FreePorts(addresses map[string]*string) error {
	var errs []error
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	// Ports that were named come first, lest one of them is given away.
	flags := slices.SortedFunc(maps.Keys(addresses), func(a, b string) int {
		if x, y := anyPort(*addresses[a]), anyPort(*addresses[b]); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	for _, flag := range flags {
		l, err := listen(*addresses[flag])
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			errs = append(errs, fmt.Errorf("--%s %s is taken: another program listens there; stop it, or choose another address (port 0 takes a free one)", flag, *addresses[flag]))
		case err != nil:
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		default:
			held = append(held, l)
			if anyPort(*addresses[flag]) {
				*addresses[flag] = l.Addr().String()
			}
		}
	}
	return errors.Join(errs...)
}

// FreePort is FreePorts for one address.
func FreePort(flag, address string) (string, error) {
	err := FreePorts(map[string]*string{flag: &address})
	return address, err
}

func anyPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}

func listen(address string) (net.Listener, error) {
	if !anyPort(address) {
		return net.Listen("tcp", address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for range 100 {
		port := firstFreePort + rand.IntN(lastFreePort-firstFreePort)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return net.Listen("tcp", address)
}
