import { useEffect, useState } from 'preact/hooks';

const settleMs = 400;

/** A value that changes while the operator types, once it has not changed for a moment. */
export function useSettled<T>(value: T): T {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMs);
    return () => {
      clearTimeout(timer);
    };
  }, [key]);
  return settled;
}
