package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestListenOffLoopback(t *testing.T) {
	for _, c := range []struct {
		address, token string
		insecure, want bool
	}{
		{"127.0.0.1:0", "", false, true},
		{"localhost:0", "", false, true},
		{"0.0.0.0:0", "", false, false},
		{":0", "", false, false},
		{"0.0.0.0:0", "0123456789abcdef", false, true},
		{"0.0.0.0:0", "", true, true},
	} {
		listener, err := Listen(c.address, c.token, c.insecure)
		if err == nil {
			_ = listener.Close()
		} else if !strings.Contains(err.Error(), "--token-file") {
			t.Errorf("%s: the error does not say what to do: %v", c.address, err)
		}
		if (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	listener, err := Listen("127.0.0.1:0", "", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bare(t, nil).Serve(ctx, listener) }()
	response, err := http.Get("http://" + listener.Addr().String() + "/api/v1/openapi.yaml")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", response, err)
	}
	_ = response.Body.Close()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server goes on")
	}
}
