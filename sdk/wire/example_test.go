package wire_test

import (
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/wire"
)

func ExampleParseMillis() {
	for _, s := range []string{"1500", "0", "-1", "soon"} {
		fmt.Println(wire.ParseMillis(s))
	}
	// Output:
	// 1.5s true
	// 0s true
	// 0s true
	// 0s false
}

func ExampleFormatGRPC() {
	fmt.Println(wire.FormatGRPC(1900*time.Millisecond), wire.FormatGRPC(119*time.Second), wire.FormatGRPC(-1))
	// Output: 1900000u 119000m 0n
}
