package demo

import (
	"context"
	"testing"
	"time"
)

func TestStatementStopsWhenCancelled(t *testing.T) {
	db, err := openAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	db.db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := db.read(ctx, 1, time.Minute); err == nil {
		t.Fatal("a statement of one minute ended well within 50 ms")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the statement went on for %v after its context had ended", took)
	}
	row, err := db.read(t.Context(), 1, 0)
	if err != nil || row.Name != "account 1" || row.Plan != "team" {
		t.Errorf("the only connection after the interrupt: %+v, %v", row, err)
	}
}
