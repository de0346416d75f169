package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// control adds the endpoints that list the faults and change their rates at run time.
func (d *Demo) control(mux *http.ServeMux) {
	mux.HandleFunc("GET /demo/faults", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, d.faults.States())
	})
	mux.HandleFunc("PUT /demo/faults/{name}", func(w http.ResponseWriter, r *http.Request) {
		fault := Fault(r.PathValue("name"))
		var in struct {
			Rate *float64 `json:"rate"`
		}
		switch {
		case !slices.Contains(Faults(), fault):
			http.Error(w, fmt.Sprintf("unknown fault %q; the faults are %s", fault, joinFaults(Faults(), ", ")), http.StatusNotFound)
		case !readJSON(w, r, &in):
		case in.Rate == nil || !validRate(*in.Rate):
			http.Error(w, `body: "rate" must be a number between 0 and 1`, http.StatusBadRequest)
		default:
			d.faults.Set(fault, *in.Rate)
			writeJSON(w, http.StatusOK, d.faults.States())
		}
	})
}

// Remote controls the faults of a demo that runs elsewhere; it is the URL of its edge.
type Remote string

// Faults lists the faults with their rates.
func (r Remote) Faults(ctx context.Context) ([]FaultState, error) {
	return r.do(ctx, http.MethodGet, "/demo/faults", nil)
}

// Set changes the rate of one fault and lists all.
func (r Remote) Set(ctx context.Context, fault Fault, rate float64) ([]FaultState, error) {
	return r.do(ctx, http.MethodPut, "/demo/faults/"+string(fault), map[string]float64{"rate": rate})
}

func (r Remote) do(ctx context.Context, method, path string, in any) ([]FaultState, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("demo control: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, string(r)+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("demo control: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("demo control: %w; is `laxity demo` running there?", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
		return nil, fmt.Errorf("demo control: %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	var states []FaultState
	if err := json.NewDecoder(resp.Body).Decode(&states); err != nil {
		return nil, fmt.Errorf("demo control: %w", err)
	}
	return states, nil
}
