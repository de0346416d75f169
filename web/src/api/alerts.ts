import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Window } from "../model/window.ts";
import { change, getJSON } from "./client.ts";
import type { AlertHistory, AlertList, AlertTest, NewSilence, Silence, SilenceList } from "./shapes.ts";

// Alerts are evaluated once a minute.
const refresh = 30_000;

export function useAlerts() {
  return useQuery({ queryKey: ["alerts"], queryFn: ({ signal }) => getJSON<AlertList>("/alerts", {}, signal), refetchInterval: refresh });
}

/** How alerts changed in a window, newest first. */
export function useAlertHistory(window: Window, name: string) {
  return useInfiniteQuery({
    queryKey: ["alerts", "history", window, name],
    queryFn: ({ signal, pageParam }) => getJSON<AlertHistory>("/alerts/history", { ...window, name, limit: 100, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: refresh,
  });
}

export function useSilences() {
  return useQuery({ queryKey: ["alerts", "silences"], queryFn: ({ signal }) => getJSON<SilenceList>("/silences", {}, signal), refetchInterval: refresh });
}

export function addSilence(silence: NewSilence): Promise<Silence> {
  return change("POST", "/silences", silence);
}

export function endSilence(id: string): Promise<Silence> {
  return change("DELETE", `/silences/${encodeURIComponent(id)}`);
}

export function testAlert(name: string): Promise<AlertTest> {
  return change("POST", `/alerts/${encodeURIComponent(name)}/test`);
}
