// A React hook that gives the rows of a live result; rows that did not change are the same objects.
import { useEffect, useState } from 'react';
import { live } from 'quickgres/client-parser/live';

export function useLive(url) {
  const [rows, setRows] = useState();
  useEffect(() => {
    const states = live(url);
    (async () => {
      for await (const state of states) setRows(state);
    })().catch(console.error);
    return () => void states.return();
  }, [url]);
  return rows; // undefined until the first state
}
