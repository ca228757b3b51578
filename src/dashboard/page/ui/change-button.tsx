import type { ComponentChildren } from 'preact';
import { useScope } from '../scope/scope.js';

/** Why a control that changes something is disabled for a read-only key. */
export const readOnlyReason = 'This key is read-only. Sign in with a key with full access to make changes.';

interface ChangeButtonProps {
  readonly onClick?: () => void;
  readonly kind?: 'primary' | 'danger';
  readonly type?: 'button' | 'submit';
  readonly isDisabled?: boolean;
  /** Names the button where its text is not enough: the same verb in each row of a table. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A button that changes something: disabled, with the reason, for a read-only key. */
export function ChangeButton({ onClick, kind, type = 'button', isDisabled = false, label, children }: ChangeButtonProps) {
  const { canChange } = useScope();
  return (
    <button
      type={type}
      class={kind}
      disabled={isDisabled || !canChange}
      title={canChange ? undefined : readOnlyReason}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
